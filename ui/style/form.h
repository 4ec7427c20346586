// SPDX-License-Identifier: GPL-3.0-or-later
// Requests (headlight/base/fields.h) as forms: a row for each field, which goes while it means nothing.
#pragma once

#include "headlight/base/fields.h"
#include "ui/style/widgets.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QSpinBox>

#include <algorithm>
#include <string_view>
#include <vector>

namespace headlight::ui {

/// What becomes of a row whose field means nothing as the others are.
enum class Irrelevant { hidden, disabled };

/// The widgets of a form, by the names of their fields.
class FormRows : public QWidget {
    Q_OBJECT
public:
    explicit FormRows(Irrelevant, QWidget* parent = nullptr);
    /// nullptr: the form has no such row.
    QWidget* row(std::string_view name) const;

Q_SIGNALS:
    void changed();

protected:
    void show_relevant(const Field&);
    QCheckBox* add_switch(const Field&);
    QComboBox* add_choice(const Field&);
    QSpinBox* add_count(const Field&);
    QDoubleSpinBox* add_number(const Field&);
    QLineEdit* add_line(const Field&);

private:
    void add_row(const Field&, QWidget&, bool titled = true);
    QFormLayout* rows_;
    Irrelevant irrelevant_;
};

template <class Request>
class Form : public FormRows {
public:
    /// Has a row for every field but for those named, which the page shows elsewhere.
    explicit Form(std::vector<std::string_view> without = {}, Irrelevant irrelevant = Irrelevant::hidden,
                  QWidget* parent = nullptr)
        : FormRows(irrelevant, parent), without_(std::move(without)) {
        describe(request_, [this](const Field& field, auto& value) {
            if (has(field)) add(field, value);
        });
        connect(this, &FormRows::changed, this, [this] { read_into(request_), follow_relevance(); });
        show(request_);
    }

    void show(const Request& request) {
        const QSignalBlocker quiet(this);
        request_ = request;
        describe(request_, [this](const Field& field, const auto& value) {
            if (has(field)) put(*row(field.name), value);
        });
        follow_relevance();
    }
    void read_into(Request& request) const {
        describe(request, [this](const Field& field, auto& value) {
            if (has(field)) take(*row(field.name), value);
        });
    }

private:
    bool has(const Field& field) const { return std::ranges::find(without_, field.name) == without_.end(); }
    void follow_relevance() {
        describe(request_, [this](const Field& field, const auto&) {
            if (has(field)) show_relevant(field);
        });
    }

    template <class T>
    void add(const Field& field, const T&) {
        if constexpr (std::is_same_v<T, bool>) {
            add_switch(field);
        } else if constexpr (std::is_enum_v<T>) {
            add_choices(*add_choice(field), enum_rows(T{}));
        } else if constexpr (std::is_integral_v<T>) {
            add_count(field);
        } else if constexpr (std::is_floating_point_v<T>) {
            add_number(field);
        } else {
            add_line(field);
        }
    }
    template <class T>
    static void put(QWidget& to, const T& value) {
        if constexpr (std::is_same_v<T, bool>)
            static_cast<QCheckBox&>(to).setChecked(value);
        else if constexpr (std::is_enum_v<T>)
            // A value without a row of its own reads as the first.
            static_cast<QComboBox&>(to).setCurrentIndex(
                std::max(0, static_cast<QComboBox&>(to).findData(static_cast<int>(value))));
        else if constexpr (std::is_integral_v<T>)
            static_cast<QSpinBox&>(to).setValue(static_cast<int>(value));
        else if constexpr (std::is_floating_point_v<T>)
            static_cast<QDoubleSpinBox&>(to).setValue(value);
        else if constexpr (std::is_same_v<T, QString>)
            static_cast<QLineEdit&>(to).setText(value);
        else
            static_cast<QLineEdit&>(to).setText(QString::fromStdString(value));
    }
    template <class T>
    static void take(const QWidget& from, T& value) {
        if constexpr (std::is_same_v<T, bool>)
            value = static_cast<const QCheckBox&>(from).isChecked();
        else if constexpr (std::is_enum_v<T>)
            value = chosen_value<T>(static_cast<const QComboBox&>(from));
        else if constexpr (std::is_integral_v<T>)
            value = static_cast<T>(static_cast<const QSpinBox&>(from).value());
        else if constexpr (std::is_floating_point_v<T>)
            value = static_cast<const QDoubleSpinBox&>(from).value();
        else if constexpr (std::is_same_v<T, QString>)
            value = static_cast<const QLineEdit&>(from).text();
        else
            value = static_cast<const QLineEdit&>(from).text().toStdString();
    }

    std::vector<std::string_view> without_;
    Request request_{};  ///< with the values of fields that have no row
};

}  // namespace headlight::ui
