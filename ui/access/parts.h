// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAccessible>
#include <QAccessibleWidget>

#include <vector>

namespace headlight::ui {

/// A widget that paints its parts: they are its children for a screen reader. Parts are made when they are asked for.
class PaintedParts : public QAccessibleWidget {
public:
    PaintedParts(QWidget*, QAccessible::Role);
    ~PaintedParts() override;

    int childCount() const override;
    QAccessibleInterface* child(int index) const override;
    int indexOfChild(const QAccessibleInterface*) const override;
    QAccessibleInterface* childAt(int x, int y) const override;
    QAccessibleInterface* focusChild() const override;

    virtual int parts() const = 0;
    virtual QString name_of(int part) const = 0;
    virtual QRect area_of(int part) const = 0;  ///< in the viewport
    virtual bool selected(int part) const = 0;
    virtual void press(int part) = 0;
    /// The part that the selection is at; -1: none.
    virtual int current() const = 0;

protected:
    /// Never in a query, which may be one of them.
    void forget_children() const;
    bool has_children() const { return !children_.empty(); }

private:
    mutable std::vector<QAccessible::Id> children_;
};

/// One of them.
class PaintedPart : public QAccessibleInterface, public QAccessibleActionInterface {
public:
    PaintedPart(const PaintedParts& of, int index) : of_(const_cast<PaintedParts&>(of)), index_(index) {}

    bool isValid() const override { return of_.isValid() && index_ < of_.parts(); }
    QObject* object() const override { return nullptr; }
    QAccessibleInterface* parent() const override { return &of_; }
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QString text(QAccessible::Text) const override;
    void setText(QAccessible::Text, const QString&) override {}
    QRect rect() const override;
    QAccessible::Role role() const override { return QAccessible::ListItem; }
    QAccessible::State state() const override;
    void* interface_cast(QAccessible::InterfaceType) override;

    QStringList actionNames() const override { return {pressAction()}; }
    void doAction(const QString&) override { of_.press(index_); }
    QStringList keyBindingsForAction(const QString&) const override { return {}; }

    int index() const { return index_; }

private:
    PaintedParts& of_;
    int index_;
};

}  // namespace headlight::ui
