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
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace headlight::ui {

/// What becomes of a row whose field means nothing as the others are.
enum class Irrelevant { hidden, disabled };

/// Strings in one line with this character between them, and a space after it unless it is one.
QString strings_line(const Strings&, char between);
Strings strings_of(const QString& line, char between);
/// "0, 2, 5-7"; the error is index_list()'s, unless lists that cannot be read are left as they are.
void take_indices(const QString& line, bool checked, Indices&);

/// The widgets of a form, by the names of their fields.
class FormRows : public QWidget {
    Q_OBJECT
public:
    explicit FormRows(Irrelevant, QWidget* parent = nullptr);
    /// nullptr: the form has no such row.
    QWidget* row(std::string_view name) const;
    /// A row that is not offered, whatever the other fields are: the model has no use for it. `name` is a literal.
    void offer(std::string_view name, bool on);
    /// Whether the field is asked for: it is relevant and offered.
    bool uses(const Field&) const;
    /// Rows that stand in the form only while everything is shown; they are asked for all the same. Names are literals.
    void set_further(std::set<std::string_view> names) { further_ = std::move(names); }
    bool is_further(std::string_view name) const { return further_.contains(name); }
    bool shows_all() const { return shows_all_; }
    void set_shows_all(bool all) { shows_all_ = all; }

Q_SIGNALS:
    void changed();

protected:
    void show_relevant(const Field&);
    /// A row of the page's own, in front of the row `at`; without a label it takes the whole width.
    void insert_row(int at, QWidget* label, QWidget& field);
    int place_of(std::string_view name) const;
    void show_row(QWidget& field, bool on) { rows_->setRowVisible(&field, on); }
    QCheckBox* add_switch(const Field&);
    QComboBox* add_choice(const Field&);
    QSpinBox* add_count(const Field&);
    QDoubleSpinBox* add_number(const Field&);
    QLineEdit* add_line(const Field&);

private:
    void add_row(const Field&, QWidget&, bool titled = true);
    QFormLayout* rows_;
    Irrelevant irrelevant_;
    std::set<std::string_view> left_out_, further_;
    bool shows_all_ = true;
};

template <class Request>
class Form : public FormRows {
public:
    /// Has a row for every field but for those named, which the page shows elsewhere.
    /// Lists that are typed: whether one that cannot be read is an error, or keeps what it was.
    enum class Lists { checked, readable };

    explicit Form(std::vector<std::string_view> without = {}, Irrelevant irrelevant = Irrelevant::hidden,
                  QWidget* parent = nullptr)
        : FormRows(irrelevant, parent), without_(std::move(without)) {
        describe(request_, [this](const Field& field, auto& value) {
            if (has(field)) add(field, value);
        });
        connect(this, &FormRows::changed, this, [this] { read_into(request_, Lists::readable), follow(); });
        show(request_);
    }

    void show(const Request& request) {
        const QSignalBlocker quiet(this);
        request_ = request;
        describe(request_, [this](const Field& field, const auto& value) {
            if (has(field)) put(*row(field.name), field, value);
        });
        put_own(request_);
        follow();
    }
    /// Errors: a list that cannot be read.
    void read_into(Request& request, Lists lists = Lists::checked) const {
        describe(request, [this, lists](const Field& field, auto& value) {
            if (has(field)) take(*row(field.name), field, value, lists);
        });
        take_own(request);
    }
    /// What is shown, without fields that are not asked for: they have the values of `defaults`.
    Request asked(Lists lists = Lists::checked, const Request& defaults = {}) const {
        Request out = request_;
        read_into(out, lists);
        reset_fields(
            out, [this](const Field& field) { return !uses(field); }, defaults);
        return out;
    }

protected:
    /// Fields without a row here, in the page's own rows.
    virtual void put_own(const Request&) {}
    virtual void take_own(Request&) const {}
    virtual void show_own(const Request&) {}

    /// Shows the rows that are relevant now.
    void follow() {
        describe(request_, [this](const Field& field, const auto&) {
            if (has(field)) show_relevant(field);
        });
        show_own(request_);
    }

private:
    static constexpr char separator(const Field& field) {
        return field.kind == FieldKind::names ? ' ' : field.kind == FieldKind::token ? '|' : ';';
    }
    bool has(const Field& field) const { return std::ranges::find(without_, field.name) == without_.end(); }

    template <class T>
    void add(const Field& field, const std::optional<T>&) {
        add(field, T());
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
    static void put(QWidget& to, const Field& field, const std::optional<T>& value) {
        put(to, field, value.value_or(T()));
    }
    template <class T>
    static void put(QWidget& to, const Field& field, const T& value) {
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
        else if constexpr (std::is_same_v<T, Strings>)
            static_cast<QLineEdit&>(to).setText(strings_line(value, separator(field)));
        else
            static_cast<QLineEdit&>(to).setText(QString::fromStdString(field_words(value)));
    }
    /// An empty text and a 0 are none.
    template <class T>
    static void take(const QWidget& from, const Field& field, std::optional<T>& value, Lists lists) {
        T taken{};
        take(from, field, taken, lists);
        value = std::is_enum_v<T> || taken != T() ? std::optional(std::move(taken)) : std::nullopt;
    }
    template <class T>
    static void take(const QWidget& from, const Field& field, T& value, Lists lists) {
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
        else if constexpr (std::is_same_v<T, Strings>)
            value = strings_of(static_cast<const QLineEdit&>(from).text(), separator(field));
        else if constexpr (std::is_same_v<T, Indices>)
            take_indices(static_cast<const QLineEdit&>(from).text(), lists == Lists::checked, value);
        else
            value = static_cast<const QLineEdit&>(from).text().toStdString();
    }

    std::vector<std::string_view> without_;
    Request request_{};  ///< with the values of fields that have no row
};

}  // namespace headlight::ui
